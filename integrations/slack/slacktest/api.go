package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Call is one call the bot made.
type Call struct {
	Method string
	Args   map[string]string
	At     time.Time
	// Result is "ok", Slack's error, "429", or the fault that broke it.
	Result string
}

// result is what a method answers beside ok; an error is told by "error".
type result map[string]any

func failed(code string) result { return result{"error": code} }

// method is one method of the Web API.
type method struct {
	tier  int
	scope string // alternatives are joined by "|"
	app   bool   // wants the app-level token
	run   func(w *Workspace, args map[string]string) result
}

// methods is the Web API as far as it is served.
func methods() map[string]method {
	const reading = "channels:read|groups:read|im:read|mpim:read"
	const history = "channels:history|groups:history|im:history|mpim:history"
	return map[string]method{
		"apps.connections.open":        {tier1, "", true, (*Workspace).connectionsOpen},
		"auth.test":                    {tierFree, "", false, (*Workspace).authTest},
		"chat.postMessage":             {tierPost, "chat:write", false, (*Workspace).chatPost},
		"chat.postEphemeral":           {tier4, "chat:write", false, (*Workspace).chatPostEphemeral},
		"chat.update":                  {tier3, "chat:write", false, (*Workspace).chatUpdate},
		"chat.delete":                  {tier3, "chat:write", false, (*Workspace).chatDelete},
		"conversations.history":        {tier3, history, false, (*Workspace).conversationsHistory},
		"conversations.replies":        {tier3, history, false, (*Workspace).conversationsReplies},
		"conversations.info":           {tier3, reading, false, (*Workspace).conversationsInfo},
		"conversations.open":           {tier3, "im:write|mpim:write", false, (*Workspace).conversationsOpen},
		"users.conversations":          {tier3, reading, false, (*Workspace).usersConversations},
		"users.info":                   {tier4, "users:read", false, (*Workspace).usersInfo},
		"usergroups.users.list":        {tier2, "usergroups:read", false, (*Workspace).usergroupsUsersList},
		"reactions.add":                {tier3, "reactions:write", false, (*Workspace).reactionsAdd},
		"reactions.remove":             {tier2, "reactions:write", false, (*Workspace).reactionsRemove},
		"files.info":                   {tier4, "files:read", false, (*Workspace).filesInfo},
		"files.list":                   {tier3, "files:read", false, (*Workspace).filesList},
		"conversations.members":        {tier4, reading, false, (*Workspace).conversationsMembers},
		"files.delete":                 {tier3, "files:write", false, (*Workspace).filesDelete},
		"files.getUploadURLExternal":   {tier4, "files:write", false, (*Workspace).filesUploadURL},
		"files.completeUploadExternal": {tier4, "files:write", false, (*Workspace).filesComplete},
		"views.open":                   {tier4, "", false, (*Workspace).viewsOpen},
		"views.publish":                {tier4, "", false, (*Workspace).viewsPublish},
		"assistant.threads.setStatus":  {tier3, "assistant:write|chat:write", false, (*Workspace).assistantStatus},
	}
}

// serveAPI answers one call: faults first, then token, scope, rate, method.
func (w *Workspace) serveAPI(rw http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	args, token, err := readArgs(r)
	if err != nil {
		w.answer(rw, name, args, failed("invalid_form_data"))
		return
	}
	fault := w.fault(name, args)
	if fault != nil && w.breakBefore(rw, name, args, fault) {
		return
	}
	if retry, limited := w.limited(name, args); limited {
		w.log(name, args, "429")
		rw.Header().Set("Retry-After", fmt.Sprint(retry))
		rw.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(rw, `{"ok":false,"error":"ratelimited"}`)
		return
	}
	res := w.call(name, args, token)
	if fault != nil && fault.Kind == Lose {
		w.log(name, args, "lost")
		panic(http.ErrAbortHandler)
	}
	if fault != nil && fault.Kind == Garbage {
		w.log(name, args, "garbage")
		_, _ = io.WriteString(rw, "<html>oops</html>")
		return
	}
	w.answer(rw, name, args, res)
}

func (w *Workspace) call(name string, args map[string]string, token string) result {
	m, known := methods()[name]
	bot, app := w.BotToken(), w.AppToken()
	want := bot
	if m.app {
		want = app
	}
	switch {
	case !known:
		return failed("unknown_method")
	case token == "":
		return failed("not_authed")
	case token != want && (token == bot || token == app):
		return failed("not_allowed_token_type")
	case token != want:
		return failed("invalid_auth")
	case !m.app && !w.holds(m.scope):
		return result{
			"error": "missing_scope", "needed": strings.Split(m.scope, "|")[0],
			"provided": strings.Join(w.options.Scopes, ","),
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return m.run(w, args)
}

// breakBefore carries out a fault that comes before the call, and reports
// whether the call is over with it.
func (w *Workspace) breakBefore(rw http.ResponseWriter, name string, args map[string]string, f *Fault) bool {
	switch f.Kind {
	case Refuse:
		w.log(name, args, "refused")
		panic(http.ErrAbortHandler)
	case Limit:
		w.log(name, args, "429")
		rw.Header().Set("Retry-After", fmt.Sprint(f.RetryAfter))
		rw.WriteHeader(http.StatusTooManyRequests)
		return true
	case Status:
		w.log(name, args, fmt.Sprint(f.Code))
		http.Error(rw, "<html>error</html>", f.Code)
		return true
	case Fail:
		w.answer(rw, name, args, failed(f.Error))
		return true
	case Slow:
		select {
		case <-time.After(f.Wait):
		case <-w.closed:
		}
	}
	return false
}

func (w *Workspace) limited(name string, args map[string]string) (int, bool) {
	m, known := methods()[name]
	if !known || w.options.Unlimited {
		return 0, false
	}
	key, r := name, rateOf(m.tier)
	if m.tier == tierPost {
		key += " " + args["channel"]
	}
	if w.options.Commercial && (name == "conversations.history" || name == "conversations.replies") {
		r = commercialRate()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	retry, ok := w.take(key, r)
	return retry, !ok
}

func (w *Workspace) answer(rw http.ResponseWriter, name string, args map[string]string, res result) {
	outcome := "ok"
	if code, bad := res["error"].(string); bad {
		outcome = code
	}
	w.log(name, args, outcome)
	res["ok"] = outcome == "ok"
	if w.options.Scopes != nil {
		rw.Header().Set("X-OAuth-Scopes", strings.Join(w.options.Scopes, ","))
	}
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(rw).Encode(res)
}

func (w *Workspace) log(name string, args map[string]string, outcome string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, Call{Method: name, Args: args, At: time.Now(), Result: outcome})
	w.notify()
}

// readArgs reads a form, a query or a JSON body as flat strings; nested JSON
// values stay JSON. The token is taken out of them.
func readArgs(r *http.Request) (args map[string]string, token string, err error) {
	args = map[string]string{}
	token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var body map[string]json.RawMessage
		raw, err := io.ReadAll(io.LimitReader(r.Body, 4<<20))
		if err != nil || len(raw) > 0 && json.Unmarshal(raw, &body) != nil {
			return args, token, fmt.Errorf("read arguments: %w", err)
		}
		for k, v := range body {
			var s string
			if json.Unmarshal(v, &s) == nil {
				args[k] = s
			} else {
				args[k] = string(v)
			}
		}
		return args, token, nil
	}
	if err := r.ParseForm(); err != nil {
		return args, token, fmt.Errorf("read arguments: %w", err)
	}
	for k := range r.Form {
		args[k] = r.Form.Get(k)
	}
	if t, ok := args["token"]; ok {
		token = t
		delete(args, "token")
	}
	return args, token, nil
}

func pathEscape(name string) string { return url.PathEscape(name) }

// page cuts list to the limit the call names, in the order given, and returns
// the cursor of what is left.
func (w *Workspace) page(list []any, args map[string]string, most int) (cut []any, next string) {
	limit, offset := 100, 0
	if n, err := parsePositive(args["limit"]); err == nil {
		limit = n
	}
	limit = min(limit, most)
	if n, err := parsePositive(strings.TrimPrefix(args["cursor"], "at:")); err == nil {
		offset = n
	}
	offset = min(offset, len(list))
	end := min(len(list), offset+limit)
	if end < len(list) {
		next = fmt.Sprintf("at:%d", end)
	}
	return list[offset:end], next
}

func parsePositive(s string) (int, error) {
	var n int
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n <= 0 {
		return 0, fmt.Errorf("parse number %q: not positive", s)
	}
	return n, nil
}
