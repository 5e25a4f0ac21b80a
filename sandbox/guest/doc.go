// Package guest embeds the Python package that runs inside a session: the
// supervisor that is PID 1, and the modules user programs import as sandpiper.
package guest
