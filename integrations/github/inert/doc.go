// Package inert rewrites Markdown of unknown origin so that GitHub may show
// it without consequences.
//
// It promises that what comes out, posted as a comment,
//
//   - pings nobody (@name, @org/team) and refers to nothing (#1, GH-1,
//     owner/repo#1), so that closing words close nothing;
//   - holds no line that other bots obey (/approve, atlantis apply,
//     @dependabot merge), not even inside code;
//   - loads no image, embeds nothing, and links only to the exact URLs it was
//     given: all others stand in code spans;
//   - holds no HTML, so that no comment, marker or folded section in it is
//     taken for ours.
//
// It does not patch the source, for two parsers never quite agree: the source
// is parsed, and a small canonical Markdown is written anew in which every
// character that could mean something is escaped.
package inert
