package outcome

import "nightaudit/trace"

// Of judges one call of a run by the default tables; see View.Outcome.
func Of(run *trace.Run, c *trace.Call) (Outcome, error) { return defaults.Of(run, c) }

// Of judges one call of a run by these tables.
func (t *Tables) Of(run *trace.Run, c *trace.Call) (Outcome, error) { return t.View(run, c).Outcome() }

// Commands reads a shell call by the default tables; see View.Shell.
func Commands(run *trace.Run, c *trace.Call) (Shell, error) { return defaults.View(run, c).Shell() }

// Classify returns a call's classes by the default tables; see View.Classes.
func Classify(run *trace.Run, c *trace.Call) (Set, error) { return defaults.View(run, c).Classes() }

// Paths returns the files that a call names by the default tables; see View.Files.
func Paths(run *trace.Run, c *trace.Call) (Files, error) { return defaults.View(run, c).Files() }

// Tests reads a test run's summary by the default tables; see View.Tests.
func Tests(run *trace.Run, c *trace.Call) (*Summary, error) { return defaults.View(run, c).Tests() }

// TestsAsked is View.TestsAsked by the default tables.
func TestsAsked(run *trace.Run, c *trace.Call) (*Summary, error) {
	return defaults.View(run, c).TestsAsked()
}
