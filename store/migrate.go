package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ErrNewerSchema is returned for a file that a later version has migrated: this
// one would not know what it must not break.
var ErrNewerSchema = errors.New("written by a newer nightaudit")

// ErrOlderSchema is returned when a file would have to be migrated to be read,
// but was opened read-only.
var ErrOlderSchema = errors.New("written by an older nightaudit and opened read-only")

// migrate brings the file to the newest schema, one transaction a step; each
// step reads the version inside its transaction, so that two processes that
// start together do not both take it.
func (s *Store) migrate(ctx context.Context, readOnly bool) error {
	steps, err := migrations.ReadDir("migrations")
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	var have int
	if err := s.DB.Read.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch {
	case have > len(steps):
		return s.newer(have, len(steps))
	case have == len(steps):
		return nil
	case readOnly:
		return fmt.Errorf("%s: %w (schema %d, this one needs %d)", s.DB.Path, ErrOlderSchema, have, len(steps))
	}
	for i, step := range steps {
		text, err := migrations.ReadFile("migrations/" + step.Name())
		if err != nil {
			return fmt.Errorf("read migration %s: %w", step.Name(), err)
		}
		err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			return s.step(ctx, tx, i+1, len(steps), string(text))
		})
		if err != nil {
			return fmt.Errorf("migrate %s: %w", step.Name(), err)
		}
	}
	return nil
}

func (s *Store) step(ctx context.Context, tx *sql.Tx, version, newest int, text string) error {
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if have > newest {
		return s.newer(have, newest)
	}
	if have >= version {
		return nil
	}
	// The pragmas take no parameters; both are part of the transaction.
	text += fmt.Sprintf("\nPRAGMA application_id = %d;\nPRAGMA user_version = %d;\n", applicationID, version)
	_, err := tx.ExecContext(ctx, text)
	return err
}

func (s *Store) newer(have, known int) error {
	return fmt.Errorf("%s was %w (schema %d, this one knows %d)", s.DB.Path, ErrNewerSchema, have, known)
}
