// Package githubtest is a fake GitHub for tests: the REST API of
// api.github.com and the pages of github.com that programs read, over real
// HTTP, with the people who open issues, the hooks that tell about it, and
// the faults that a bot must live with.
//
// It promises GitHub's own numbers wherever a program can run into them:
//
//	comment body           65,536 characters, else 422
//	page size              30 by default, 100 at most, Link headers
//	App JWT                RS256, at most 10 minutes long, not issued ahead of the clock
//	installation token     lasts 1 hour
//	primary limit          5,000 requests an hour a token; 304 is free
//	secondary limits       100 at once; 900 points a minute (reads 1, writes 5);
//	                       80 creations of content a minute, 500 an hour
//	webhook delivery       one attempt, 10 seconds, kept 3 days, 25 MB
//	redelivery             keeps its X-GitHub-Delivery
//	contents as JSON       1 MB; raw up to 100 MB
//	signed attachment URL  5 minutes
//
// Limits are off unless Options.Limits names them (GitHubLimits gives the
// numbers above), so that tests meet them only on purpose.
//
// Git objects are real: ids are git's own SHA-1 of blobs, trees and commits,
// an update that is no fast forward is refused, and a branch can move between
// two requests (Fault with Do).
//
// Every route names the permission it needs. A token of an installation that
// lacks it is refused, and Used lists what was needed, so that an App's
// manifest can be compared with what its program really does.
//
// The API lives under /api/v3/ as on GitHub Enterprise Server; the web pages
// live at the root of the same host. Mind that markdown is not rendered:
// body_html is the escaped body in which attachment links are signed.
package githubtest
