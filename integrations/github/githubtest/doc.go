// Package githubtest is a fake GitHub over HTTP.
package githubtest
