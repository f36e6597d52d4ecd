package scheduler

import (
	"fmt"
	"os"
	"path/filepath"

	"nightaudit/audit/claims"
)

// maxClaimsFile is the largest claims or schema file that is read, in bytes.
const maxClaimsFile = 16 << 20

// LoadClaims reads a claims file; the schemas that it names are read relative to
// its folder. Kinds supplies what claims of a kind require; nil: there are none.
func LoadClaims(file string, source claims.Source, kinds claims.Kinds) ([]claims.Claim, error) {
	data, err := readSmall(file)
	if err != nil {
		return nil, fmt.Errorf("read claims: %w", err)
	}
	return claims.Load(file, data, claims.Options{
		Source: source, Kinds: kinds,
		ReadFile: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(file), name)
			}
			return readSmall(name)
		},
	})
}

// SchemaClaim makes the claim that a trace's envelopes follow a schema file.
func SchemaClaim(file string) (claims.Claim, error) {
	data, err := readSmall(file)
	if err != nil {
		return claims.Claim{}, fmt.Errorf("read schema: %w", err)
	}
	schema, err := claims.ParseSchema(file, data)
	if err != nil {
		return claims.Claim{}, err
	}
	return claims.Claim{
		ID: "schema", Text: "the tool envelopes follow " + filepath.Base(file), Source: claims.SourceFile,
		Envelope:    &claims.Envelope{Schemas: []claims.Schema{schema}},
		Requirement: []byte(`{"envelope":{"schema":"` + schema.SHA256 + `"}}`),
	}, nil
}

// readSmall reads a regular file of at most maxClaimsFile bytes.
func readSmall(file string) ([]byte, error) {
	f, size, err := openRegular(func() (*os.File, error) { return os.Open(file) })
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxClaimsFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", file, maxClaimsFile)
	}
	b := make([]byte, size)
	n, err := f.ReadAt(b, 0)
	if int64(n) == size {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return b, nil
}
