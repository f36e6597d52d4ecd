// Package scheduler says when a pass runs, and is the pass: pass.go shows the
// whole flow, trace → audit → rerun → budget → report, and is the file to read
// first. Everything that a stage needs from outside (files, clock, database,
// endpoint) is opened here or in cmd and handed down.
package scheduler
