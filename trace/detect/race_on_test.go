//go:build race

package detect

// stride is how many bytes are passed over between two places of damage: the race
// detector makes readings ten times slower, and `make check` runs these tests
// without it too.
const stride = 11
