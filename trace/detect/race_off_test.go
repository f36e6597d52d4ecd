//go:build !race

package detect

// stride: every byte.
const stride = 1
