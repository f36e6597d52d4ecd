package main

import (
	"fmt"
	"os"

	"nightaudit/audit"
	"nightaudit/audit/rules"
)

// rulesOf puts the built-in rule pack together with the operator's own.
func rulesOf(files []string) (audit.Rules, error) {
	pack := rules.Default()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return audit.Rules{}, fmt.Errorf("read rules: %w", err)
		}
		more, err := rules.Parse(file, data)
		if err != nil {
			return audit.Rules{}, err
		}
		pack = pack.With(more)
	}
	return audit.Rules{Kinds: pack.Kinds(), Statements: pack.Statements}, nil
}
