// Package github brings GitHub comments in by webhook and answers back into the issue.
package github
