package configs

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// APIKey reads the endpoint's key: from the variable, else from the file; "" where
// neither is there. No error holds any part of the key.
func (c Config) APIKey(getenv func(string) string, readFile func(string) ([]byte, error)) (string, error) {
	e := c.Endpoint
	if e.APIKeyEnv != "" {
		if key := strings.TrimSpace(getenv(e.APIKeyEnv)); key != "" {
			return checkKey(key, "endpoint.api_key_env: $"+e.APIKeyEnv)
		}
	}
	if e.APIKeyFile == "" {
		return "", nil
	}
	data, err := readFile(e.APIKeyFile)
	if err != nil {
		return "", fmt.Errorf("endpoint.api_key_file: %w", err)
	}
	return checkKey(strings.TrimSpace(string(data)), "endpoint.api_key_file: "+e.APIKeyFile)
}

// checkKey refuses what cannot stand in a header: most often a whole file of
// variables instead of the key alone.
func checkKey(key, from string) (string, error) {
	if key == "" {
		return "", errors.New(from + " is empty; it must hold the key")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return "", errors.New(from + " holds spaces or several lines; it must hold the key and nothing else")
	}
	return key, nil
}
