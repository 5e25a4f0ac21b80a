// Package sandboxtest is the one gate through which tests reach a container
// engine. Where one answers, tests that need it run; where none does they are
// skipped with one clear line, and in CI (CI=true) they fail.
package sandboxtest
