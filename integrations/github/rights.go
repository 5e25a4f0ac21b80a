package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sandpiper-bot/sandpiper/bot"
)

// How long a permission that was asked for is believed: a "no" longer, so that
// a flood of an outsider's comments costs neither calls nor tasks.
const (
	rightsLife  = time.Minute
	refusalLife = 5 * time.Minute
)

// rights asks GitHub what people may do and keeps the answers for a minute.
type rights struct {
	adapter *Adapter

	mu    sync.Mutex // guards what follows
	known map[string]right
}

type right struct {
	role  string
	until time.Time
}

func newRights(a *Adapter) *rights { return &rights{adapter: a, known: map[string]right{}} }

// errMayNotAsk says that our own permissions do not suffice to ask for those
// of others.
var errMayNotAsk = errors.New("github does not tell us permissions in this repository")

// role asks what login may do in repository: none, read, triage, write,
// maintain or admin. author_association is never used: it shows a private
// member as a contributor.
func (r *rights) role(ctx context.Context, repository string, installation int64, login string) (string, error) {
	key := strings.ToLower(repository + "\n" + login)
	// Who asks while somebody else does waits for that answer.
	defer r.adapter.hold("right " + key)()
	now := r.adapter.options.Clock.Now()
	r.mu.Lock()
	known, ok := r.known[key]
	r.mu.Unlock()
	if ok && now.Before(known.until) {
		return known.role, nil
	}
	role, err := r.ask(ctx, repository, installation, login)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) > 10_000 {
		clear(r.known)
	}
	life := rightsLife
	if permissionRank(role) < permissionRank(r.adapter.options.MinPermission) {
		life = refusalLife
	}
	r.known[key] = right{role: role, until: now.Add(life)}
	return role, nil
}

// refusedLately says that GitHub said no to login a short while ago. It asks
// nobody.
func (r *rights) refusedLately(repository, login string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.known[strings.ToLower(repository+"\n"+login)]
	return ok && r.adapter.options.Clock.Now().Before(known.until) &&
		permissionRank(known.role) < permissionRank(r.adapter.options.MinPermission)
}

func (r *rights) ask(ctx context.Context, repository string, installation int64, login string) (string, error) {
	client, err := r.adapter.clients.forRepository(ctx, repository, installation)
	if err != nil {
		return "", err
	}
	// v60's type lacks role_name, which tells triage from read.
	request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/collaborators/%s/permission", repository, login), nil)
	if err != nil {
		return "", fmt.Errorf("ask for permission: %w", err)
	}
	var answer struct {
		Permission string `json:"permission"`
		Role       string `json:"role_name"`
	}
	_, err = client.Do(ctx, request, &answer)
	switch {
	case statusOf(err) == http.StatusNotFound:
		return "none", nil
	case statusOf(err) == http.StatusForbidden:
		return "", fmt.Errorf("ask for permission: %w: %w", errMayNotAsk, r.adapter.clients.explain(err))
	case err != nil:
		return "", fmt.Errorf("ask for permission: %w", r.adapter.clients.explain(err))
	}
	if permissionRank(answer.Role) >= 0 {
		return answer.Role, nil
	}
	if permissionRank(answer.Permission) >= 0 {
		return answer.Permission, nil
	}
	return "none", nil
}

// Authorize implements bot.Channel: the actor needs the configured permission
// in the repository, and so does the author of a text that somebody else
// made a request by a label.
func (a *Adapter) Authorize(ctx context.Context, event bot.Event) (bot.Decision, error) {
	to, err := readAddress(event.Origin)
	if err != nil {
		return refused("the request has no address", "address"), nil
	}
	if !a.options.allowed(to.Repository) {
		return refused("This repository is not among those that may ask.", "repositories"), nil
	}
	people := []string{strings.TrimPrefix(event.Actor.ID, Name+":")}
	if to.Author != "" {
		people = append(people, to.Author)
	}
	for _, login := range people {
		role, err := a.rights.role(ctx, to.Repository, to.Installation, login)
		if errors.Is(err, errMayNotAsk) {
			a.options.Logger.Error("permissions cannot be asked for", "repository", to.Repository, "error", err)
			return refused("I cannot check permissions in this repository, so I refuse. Its administrators can see why with `sandpiper doctor`.", "permission unknown"), nil
		}
		if err != nil {
			return bot.Decision{}, fmt.Errorf("authorize: %w", err)
		}
		if permissionRank(role) < permissionRank(a.options.MinPermission) {
			if login == to.Author {
				return refused(fmt.Sprintf("I do not work on this text: `%s`, who wrote it, does not have %s permission in this repository, and a label does not lend it. To have it done all the same, say what you want in a comment of your own that begins with `@%s`.",
					login, a.options.MinPermission, a.options.Handle), "min_permission of the text's author"), nil
			}
			return refused(fmt.Sprintf("Only people with %s permission in this repository may ask me.", a.options.MinPermission), "min_permission"), nil
		}
	}
	return bot.Decision{Allowed: true, Rule: "permission " + a.options.MinPermission}, nil
}

func refused(reason, rule string) bot.Decision {
	return bot.Decision{Reason: reason, Rule: "github: " + rule}
}
