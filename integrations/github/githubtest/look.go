package githubtest

import (
	"cmp"
	"slices"
	"time"
)

// Comment is a comment as people see it.
type Comment struct {
	ID        int64
	Author    string
	Body      string
	Review    bool
	ReplyTo   int64
	Created   time.Time
	Updated   time.Time
	Reactions []string // "login:eyes", in the order they were given
}

// Comments returns the comments of an issue or pull request, oldest first.
func (s *Server) Comments(repository string, number int64) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Comment
	for _, c := range s.must(repository).comments {
		if c.issue.number == number {
			out = append(out, Comment{
				ID: c.id, Author: c.author.login, Body: c.body, Review: c.review, ReplyTo: c.replyTo,
				Created: c.created, Updated: c.updated, Reactions: names(c.reactions),
			})
		}
	}
	return out
}

// Issue is an issue as people see it.
type Issue struct {
	Number  int64
	Author  string
	Title   string
	Body    string
	Created time.Time
}

// Issues returns a repository's issues without its pull requests, by number.
func (s *Server) Issues(repository string) []Issue {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Issue
	for _, i := range s.must(repository).issues {
		if i.pull == nil {
			out = append(out, Issue{Number: i.number, Author: i.author.login, Title: i.title, Body: i.body, Created: i.created})
		}
	}
	slices.SortFunc(out, func(a, b Issue) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// DeleteIssue deletes an issue with its comments, as an administrator may.
func (s *Server) DeleteIssue(repository string, number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.must(repository)
	r.comments = slices.DeleteFunc(r.comments, func(c *comment) bool { return c.issue.number == number })
	delete(r.issues, number)
	r.deleted = append(r.deleted, number)
}

// IssueReactions returns the reactions on an issue itself, as "login:eyes".
func (s *Server) IssueReactions(repository string, number int64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return names(s.must(repository).issues[number].reactions)
}

func names(list []*reaction) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.user.login+":"+r.content)
	}
	return out
}

// Commit is one commit of a branch.
type Commit struct {
	SHA     string
	Message string
	Author  string
	Parents []string
}

// Commits returns the commits of a branch, newest first; none where the
// branch does not exist.
func (s *Server) Commits(repository, branch string) []Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	git := s.must(repository).git
	var out []Commit
	for _, c := range git.history(git.branches[branch], "") {
		out = append(out, Commit{SHA: c.sha, Message: c.message, Author: c.author, Parents: c.parents})
	}
	return out
}

// Branches lists the branches of a repository by name.
func (s *Server) Branches(repository string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sortedKeys(s.must(repository).git.branches)
}

// Files returns all files at ref (a branch or commit), by path.
func (s *Server) Files(repository, ref string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	git, out := s.must(repository).git, map[string]string{}
	if c := git.resolve(ref); c != nil {
		for name, blob := range git.trees[c.tree] {
			out[name] = string(git.blobs[blob])
		}
	}
	return out
}

// Delivery is one attempt to deliver a webhook.
type Delivery struct {
	Hook       int64
	GUID       string
	Event      string
	Action     string
	Redelivery bool
	Status     int
	Payload    []byte
}

// Deliveries returns all attempts so far, by hook, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Delivery
	for _, h := range s.state.hooks {
		for _, d := range h.deliveries {
			out = append(out, Delivery{Hook: h.id, GUID: d.guid, Event: d.event, Action: d.action, Redelivery: d.redelivery, Status: d.status, Payload: d.payload})
		}
	}
	return out
}
