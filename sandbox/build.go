package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"
)

const (
	publicBase = "debian:trixie-slim"
	ownBase    = "sandpiper-base:trixie" // our own name for it, pulled or made
	suite      = "trixie"

	registryAnswers = 20 * time.Second // for the first sign of a pull
	bootstrapEnds   = time.Minute      // for mmdebstrap to clean up when it is stopped
)

// BuildOptions say how the sandbox's image is made.
type BuildOptions struct {
	Engine string // as Options.Engine
	// Refresh makes base and image anew, with the security updates of today,
	// though they are there.
	Refresh bool
	// Progress receives one line at a time of what is being done.
	Progress func(line string)
}

// Built is the image that stands ready.
type Built struct {
	Image   string    `json:"image"`
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	// Base says where the base came from: "pulled", "made with mmdebstrap",
	// "found on this engine", or "" when the image was there already.
	Base string `json:"base,omitempty"`
	// Existed is true when nothing had to be done.
	Existed   bool            `json:"existed"`
	Inventory json.RawMessage `json:"inventory,omitempty"`
}

// Build makes the sandbox's image, unless it is there. The caller records the
// id of the image that was made and gives it to New as Options.ImageID. It pulls the base where
// a registry answers, and otherwise makes it with mmdebstrap. Failures are
// *Error with verdict Image or Engine, or ctx's own.
func Build(ctx context.Context, options BuildOptions) (Built, error) {
	b, err := newBuilder(options.Engine, options.Progress)
	if err != nil {
		return Built{}, err
	}
	defer b.engine.Close()
	if _, err := b.engine.Info(ctx); err != nil {
		return Built{}, unreachable(err)
	}
	name := ImageName()
	if !options.Refresh {
		state, err := inspectImage(ctx, b.engine, name, "")
		if err == nil {
			b.say("image %s is there", name)
			return built(state, "", true), nil
		}
	}
	base, origin, err := b.base(ctx, options.Refresh)
	if err != nil {
		return Built{}, err
	}
	id, err := b.image(ctx, base, name, options.Refresh)
	if err != nil {
		return Built{}, err
	}
	if err := b.label(ctx, id, name); err != nil {
		return Built{}, err
	}
	state, err := inspectImage(ctx, b.engine, name, "")
	if err != nil {
		return Built{}, err
	}
	b.say("image %s is ready: %s, base %s", name, state.id, origin)
	return built(state, origin, false), nil
}

// ImportOptions say which saved image is taken in.
type ImportOptions struct {
	Engine   string
	Tar      io.Reader // as `docker save` writes it
	Progress func(line string)
}

// Import takes in an image that was saved on another machine, for machines
// that reach no mirror. It must be the image of this binary's recipe.
func Import(ctx context.Context, options ImportOptions) (Built, error) {
	b, err := newBuilder(options.Engine, options.Progress)
	if err != nil {
		return Built{}, err
	}
	defer b.engine.Close()
	return b.load(ctx, options.Tar)
}

// load hands the engine a saved image. That an image of our name is there
// afterwards says nothing, it may have been before: the engine must have
// named it.
func (b *builder) load(ctx context.Context, packed io.Reader) (Built, error) {
	name := ImageName()
	b.say("loading the image; this takes a minute or two")
	loaded, err := b.engine.ImageLoad(ctx, packed)
	if err != nil {
		return Built{}, &Error{Verdict: Image, Message: "the engine cannot load the image", Hint: "save it with: docker save " + name, Err: err}
	}
	defer loaded.Body.Close()
	named := false
	tell := b.report
	b.report = func(line string) {
		named = named || line == "Loaded image: "+name || line == "Loaded image: localhost/"+name // Podman names whose it is
		tell(line)
	}
	if _, err := b.follow(loaded.Body); err != nil {
		return Built{}, &Error{Verdict: Image, Message: "the engine cannot load the image", Hint: "save it with: docker save " + name, Err: err}
	}
	if !named {
		return Built{}, &Error{
			Verdict: Image, Message: "the file does not hold the image " + name,
			Hint: "build it with this version of sandpiper on a machine with a mirror, and save it with: docker save " + name,
		}
	}
	state, err := inspectImage(ctx, b.engine, name, "")
	if err != nil {
		return Built{}, err
	}
	return built(state, "imported", false), nil
}

func built(state imageState, base string, existed bool) Built {
	return Built{Image: state.name, ID: state.id, Created: state.created, Base: base, Existed: existed, Inventory: state.inventory}
}

// builder makes images on one engine.
type builder struct {
	engine engine
	report func(line string)
}

func newBuilder(address string, report func(string)) (*builder, error) {
	api, err := connect(address)
	if err != nil {
		return nil, err
	}
	if report == nil {
		report = func(string) {}
	}
	return &builder{engine: api, report: report}, nil
}

func (b *builder) say(format string, args ...any) { b.report(fmt.Sprintf(format, args...)) }

// base finds, pulls or makes Debian, under our own name, so that nothing of
// the user's is replaced.
func (b *builder) base(ctx context.Context, refresh bool) (name, origin string, err error) {
	if !refresh {
		if _, err := b.engine.ImageInspect(ctx, ownBase); err == nil {
			b.say("base %s is there", ownBase)
			return ownBase, "found on this engine", nil
		}
	}
	b.say("pulling %s", publicBase)
	pullErr := b.pull(ctx)
	if pullErr == nil {
		return ownBase, "pulled", b.engine.ImageTag(ctx, publicBase, ownBase)
	}
	if ctx.Err() != nil {
		return "", "", context.Cause(ctx)
	}
	b.say("no registry gives %s (%s)", publicBase, printable(pullErr.Error(), 160))
	if _, err := b.engine.ImageInspect(ctx, publicBase); err == nil && !refresh {
		b.say("using the %s of this engine", publicBase)
		return ownBase, "found on this engine", b.engine.ImageTag(ctx, publicBase, ownBase)
	}
	return ownBase, "made with mmdebstrap", b.bootstrap(ctx)
}

// pull fetches the public base; a registry that is silent is given up soon.
func (b *builder) pull(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(registryAnswers, func() { cancel(errors.New("no answer")) })
	defer silent.Stop()
	body, err := b.engine.ImagePull(ctx, publicBase, image.PullOptions{})
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = b.follow(&touchReader{from: body, touch: func() { silent.Reset(time.Minute) }})
	return err
}

// touchReader tells of every read that brought something.
type touchReader struct {
	from  io.Reader
	touch func()
}

func (r *touchReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.touch()
	}
	return n, err
}

// bootstrap makes the base from a Debian mirror, without any registry. The
// engine gets it only when it is whole: half a base under our name would spoil
// every build that finds it.
func (b *builder) bootstrap(ctx context.Context) error {
	tool, err := b.mmdebstrap(ctx)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "sandpiper-base-")
	if err != nil {
		return fmt.Errorf("make base: %w", err)
	}
	defer os.RemoveAll(folder)
	whole := filepath.Join(folder, "base.tar")
	b.say("making %s with mmdebstrap; this takes about half a minute", ownBase)
	said := &saidLines{report: b.report}
	command := exec.CommandContext(ctx, tool, "--variant=apt", suite, whole)
	command.Stdout, command.Stderr = said, said
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // it unmounts and removes its folder
	command.WaitDelay = bootstrapEnds
	if err := command.Run(); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		failure := &Error{Verdict: Image, Message: "mmdebstrap could not make the base", Err: err}
		if len(said.last) > 0 {
			failure.Hint = "it said: " + printable(strings.Join(said.last, "; "), 400)
		}
		return failure
	}
	return b.importBase(ctx, whole)
}

// importBase gives the engine a base that was made, under our name.
func (b *builder) importBase(ctx context.Context, path string) error {
	packed, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("import base: %w", err)
	}
	defer packed.Close()
	body, err := b.engine.ImageImport(ctx, image.ImportSource{Source: packed, SourceName: "-"}, ownBase, image.ImportOptions{
		Message: "Debian " + suite + " made with mmdebstrap", Changes: []string{`CMD ["bash"]`},
	})
	if err == nil {
		defer body.Close()
		_, err = b.follow(body)
	}
	if err != nil {
		return &Error{Verdict: Engine, Message: "the engine cannot import the base", Err: err}
	}
	return nil
}

// saidLines tells what mmdebstrap says, line by line, and keeps the last
// complaints for the case that it fails.
type saidLines struct {
	report func(line string)
	part   []byte
	last   []string
}

func (s *saidLines) Write(p []byte) (int, error) {
	s.part = append(s.part, p...)
	for {
		line, rest, found := bytes.Cut(s.part, []byte("\n"))
		if !found {
			return len(p), nil
		}
		s.part = rest
		text := printable(strings.TrimSpace(string(line)), 200)
		if text == "" {
			continue
		}
		s.report(text)
		if !strings.HasPrefix(text, "I: ") {
			s.last = append(s.last[max(0, len(s.last)-4):], text)
		}
	}
}

// mmdebstrap finds the tool, or installs it where we may.
func (b *builder) mmdebstrap(ctx context.Context) (string, error) {
	if tool, err := exec.LookPath("mmdebstrap"); err == nil {
		return tool, nil
	}
	missing := &Error{
		Verdict: Image, Message: "no image registry answers, and mmdebstrap, which makes the base without one, is absent",
		Hint: "install it (apt-get install mmdebstrap) and run this again; or build the image elsewhere and use: sandpiper sandbox import TAR",
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", missing
	}
	b.say("installing mmdebstrap")
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-y", "-qq", "--no-install-recommends", "mmdebstrap"}} {
		command := exec.CommandContext(ctx, apt, args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := command.CombinedOutput(); err != nil {
			missing.Err = fmt.Errorf("%w: %s", err, printable(lastLines(string(output), 3), 300))
			return "", missing
		}
	}
	return exec.LookPath("mmdebstrap")
}

// image builds the recipe on the base and names it; it gives the id.
func (b *builder) image(ctx context.Context, base, name string, refresh bool) (string, error) {
	recipe, err := recipeContext()
	if err != nil {
		return "", err
	}
	b.say("building %s; this takes a few minutes", name)
	arguments := map[string]*string{"BASE": &base}
	for _, proxy := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if value, set := os.LookupEnv(proxy); set {
			arguments[proxy] = &value
		}
	}
	return b.build(ctx, recipe, build.ImageBuildOptions{BuildArgs: arguments, NoCache: refresh, NetworkMode: "host"})
}

func (b *builder) build(ctx context.Context, packed io.Reader, options build.ImageBuildOptions) (string, error) {
	options.Version, options.Remove, options.ForceRemove = build.BuilderV1, true, true
	response, err := b.engine.ImageBuild(ctx, packed, options)
	if err != nil {
		return "", &Error{Verdict: Image, Message: "the engine cannot build the image", Err: err}
	}
	defer response.Body.Close()
	id, err := b.follow(response.Body)
	if err != nil {
		return "", &Error{
			Verdict: Image, Message: "the image could not be built",
			Hint: "see the lines above; a Debian mirror must be reachable from the engine", Err: err,
		}
	}
	if id == "" {
		return "", &Error{Verdict: Image, Message: "the engine built an image and did not say which"}
	}
	return id, nil
}

// label asks the new image what is in it, and adds that as a label.
func (b *builder) label(ctx context.Context, id, name string) error {
	inventory, err := b.print(ctx, id, "/usr/share/sandpiper/inventory.json")
	if err != nil {
		return err
	}
	if !json.Valid(inventory) {
		return &Error{Verdict: Image, Message: "the image's inventory is no JSON"}
	}
	packed, err := dockerfileContext("FROM " + id + "\n")
	if err != nil {
		return err
	}
	_, err = b.build(ctx, packed, build.ImageBuildOptions{Tags: []string{name}, Labels: map[string]string{labelInventory: string(inventory)}})
	return err
}

// print gives the content of a small file of an image.
func (b *builder) print(ctx context.Context, id, path string) ([]byte, error) {
	made, err := b.engine.ContainerCreate(ctx, &container.Config{
		Image: id, Entrypoint: []string{"cat", path}, NetworkDisabled: true, AttachStdout: true,
	}, &container.HostConfig{NetworkMode: "none"}, nil, nil, "")
	if err != nil {
		return nil, fmt.Errorf("look into image: %w", err)
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
		defer cancel()
		if err := b.engine.ContainerRemove(cleanup, made.ID, removeNow()); err != nil {
			b.say("a container was left behind: %s", short(made.ID))
		}
	}()
	attached, err := b.engine.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("look into image: %w", err)
	}
	defer attached.Close()
	if err := b.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return nil, fmt.Errorf("look into image: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(&demux{from: attached.Reader}, maxHead))
	if err != nil && !ended(err) {
		return nil, fmt.Errorf("look into image: %w", err)
	}
	return text, nil
}

// follow reads the engine's messages, tells them, and gives the id of the
// image that the last one names.
func (b *builder) follow(body io.Reader) (id string, err error) {
	decoder := json.NewDecoder(body)
	for {
		var message struct {
			Stream string `json:"stream"`
			Status string `json:"status"`
			ID     string `json:"id"`
			Error  string `json:"error"`
			Aux    struct {
				ID string `json:"ID"`
			} `json:"aux"`
		}
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			return id, nil
		} else if err != nil {
			return id, fmt.Errorf("read the engine's messages: %w", err)
		}
		switch {
		case message.Error != "":
			return id, errors.New(printable(message.Error, 400))
		case message.Aux.ID != "":
			id = message.Aux.ID
		case strings.TrimSpace(message.Stream) != "":
			b.report(printable(strings.TrimRight(message.Stream, "\n"), 200))
		case message.Status != "" && message.ID == "":
			b.report(printable(message.Status, 200))
		}
	}
}

func lastLines(text string, count int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-count):], "; ")
}
