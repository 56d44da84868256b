// Package abi is the canonical ABI of the component model in a Go module: the memory that the host writes results to,
// and the memory of answers. All of it is for WebAssembly alone.
package abi
