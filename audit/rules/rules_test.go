package rules

import "testing"

func TestDefault(t *testing.T) {
	if _, err := Parse("coding.yaml", codingYAML); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("coding.yaml", codingYAML); err != nil {
			b.Fatal(err)
		}
	}
}
