package sandbox

import (
	"context"
	"sync"
	"time"
)

// pool keeps sessions ready. One loop starts what is missing: what leases
// wait for and what should stand ready. Whatever becomes ready goes to the
// lease that has waited longest.
type pool struct {
	sandbox *Sandbox
	poke    chan struct{} // wakes the loop; holds one token

	mu       sync.Mutex // guards the fields below
	ready    []*Session // oldest first
	waiting  []chan grant
	starting int
	target   int // sessions to keep ready: Size, or more while leases find none
	missed   time.Time
	leased   time.Time // the last lease
	refill   time.Time // no start before it but for a lease that waits
	failed   time.Time // the last failed start with nobody waiting
	failures int
	preloads int // preloading steps under way: 0 or 1
}

// grant is what a waiting lease gets: a session, or why there is none.
type grant struct {
	session *Session
	err     error
}

const (
	poolTick     = 5 * time.Second
	settled      = 400 * time.Millisecond // without a lease, before preloading begins
	yielding     = 400 * time.Millisecond // after a lease, in which its program has the machine
	shrinkAfter  = 2 * time.Minute        // without a miss
	firstBackoff = time.Second
	lastBackoff  = time.Minute
)

func newPool(s *Sandbox) *pool {
	return &pool{sandbox: s, poke: make(chan struct{}, 1), target: s.options.Pool.Size}
}

func (p *pool) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// take gives a ready session, or waits for the next one to become ready.
func (p *pool) take(ctx context.Context) (*Session, error) {
	p.mu.Lock()
	p.leased = time.Now()
	p.refill = p.leased.Add(yielding)
	if session := p.pick(); session != nil {
		p.mu.Unlock()
		p.wake()
		session.info.Warm = true
		return session, nil
	}
	wait := make(chan grant, 1)
	p.waiting = append(p.waiting, wait)
	if p.sandbox.options.Pool.Size > 0 && len(p.waiting) > p.starting {
		p.target = min(p.target+1, p.sandbox.options.Pool.Max)
		p.missed = time.Now()
	}
	p.mu.Unlock()
	p.wake()
	began := time.Now()
	select {
	case got := <-wait:
		if got.session != nil {
			got.session.waited = min(time.Since(began), got.session.info.Start)
		}
		return got.session, got.err
	case <-p.sandbox.done:
		return nil, p.forgo(wait, ErrClosed)
	case <-ctx.Done():
		return nil, p.forgo(wait, context.Cause(ctx))
	}
}

// pick takes the readiest session: one with its libraries loaded before one
// that is still loading. The caller holds mu.
func (p *pool) pick() *Session {
	best := -1
	for i, session := range p.ready {
		if best < 0 || session.quiet == nil && (p.ready[best].quiet != nil || session.step > p.ready[best].step) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	session := p.ready[best]
	p.drop(best)
	return session
}

// drop takes a session out of the ready ones; a preloading step under way is
// left to end by itself. The caller holds mu.
func (p *pool) drop(i int) {
	if quiet := p.ready[i].quiet; quiet != nil {
		quiet()
	}
	p.ready = append(p.ready[:i:i], p.ready[i+1:]...)
}

// forgo takes a lease out of the queue; a session that was granted meanwhile
// becomes ready for the next.
func (p *pool) forgo(wait chan grant, why error) error {
	p.mu.Lock()
	for i, other := range p.waiting {
		if other == wait {
			p.waiting = append(p.waiting[:i:i], p.waiting[i+1:]...)
			break
		}
	}
	p.mu.Unlock()
	select {
	case got := <-wait:
		if got.session != nil {
			p.offer(got.session)
		}
	default:
	}
	return why
}

// offer hands a fresh session to the lease that waits longest, or keeps it.
func (p *pool) offer(session *Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) > 0 {
		p.waiting[0] <- grant{session: session}
		p.waiting = p.waiting[1:]
		return
	}
	p.ready = append(p.ready, session)
}

// evict ends the oldest ready session, so that its memory is free for another
// kind of session.
func (p *pool) evict() {
	p.mu.Lock()
	var victim *Session
	if len(p.ready) > 0 {
		victim = p.ready[0]
		p.drop(0)
	}
	p.mu.Unlock()
	if victim != nil {
		victim.shut()
	}
}

// lost takes out a session whose container died.
func (p *pool) lost(session *Session) {
	p.mu.Lock()
	found := false
	for i, other := range p.ready {
		if other == session {
			p.drop(i)
			found = true
			break
		}
	}
	p.mu.Unlock()
	if found {
		session.shut()
		p.wake()
	}
}

// drain ends all ready sessions: the image has changed.
func (p *pool) drain() {
	p.mu.Lock()
	old := p.ready
	p.ready = nil
	for _, session := range old {
		if session.quiet != nil {
			session.quiet()
		}
	}
	p.mu.Unlock()
	for _, session := range old {
		session.shut()
	}
	p.wake()
}

// keep runs the pool until ctx ends.
func (p *pool) keep(ctx context.Context) {
	tick := time.NewTimer(poolTick)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.retire(time.Now())
		for p.mayStart(time.Now()) {
			p.sandbox.tasks.Go(func() { p.startOne(ctx) })
		}
		now := time.Now()
		tick.Reset(min(p.preload(ctx, now), p.yields(now)))
		select {
		case <-p.poke:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// retire ends sessions that are too old or too many.
func (p *pool) retire(now time.Time) {
	p.mu.Lock()
	o := p.sandbox.options.Pool
	if p.target > o.Size && now.Sub(p.missed) > shrinkAfter {
		p.target--
		p.missed = now
	}
	var old []*Session
	for len(p.ready) > 0 && (now.Sub(p.ready[0].created) > o.MaxAge || len(p.ready) > p.target) {
		old = append(old, p.ready[0])
		p.drop(0)
	}
	p.mu.Unlock()
	for _, session := range old {
		session.shut()
	}
}

// mayStart decides whether one more start is wanted and possible, and counts
// it as begun.
func (p *pool) mayStart(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	asked := len(p.waiting) > p.starting
	refill := p.target+len(p.waiting) > len(p.ready)+p.starting && p.starting < max(1, p.sandbox.info.NCPU)
	if now.Before(p.refill) {
		refill = false
	}
	if p.failures > 0 && now.Sub(p.failed) < min(lastBackoff, firstBackoff<<min(p.failures-1, 10)) {
		refill = false
	}
	if !asked && !refill {
		return false
	}
	select {
	case p.sandbox.memory <- struct{}{}:
		p.starting++
		return true
	default:
		return false // the next session that ends wakes the loop
	}
}

// yields says how long refilling still leaves the machine to a program: the
// caller who is served comes before the ones who may come.
func (p *pool) yields(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.refill) {
		return p.refill.Sub(now)
	}
	return poolTick
}

// returned ends the yielding: a lease has ended.
func (p *pool) returned() {
	p.mu.Lock()
	p.refill = time.Time{}
	p.mu.Unlock()
	p.wake()
}

// startOne starts one session and hands it on.
func (p *pool) startOne(ctx context.Context) {
	s := p.sandbox
	s.mu.Lock()
	image := s.image.id
	s.mu.Unlock()
	session, err := s.start(ctx, s.options, image)
	p.mu.Lock()
	p.starting--
	if err == nil {
		p.failures = 0
	} else if len(p.waiting) > 0 {
		p.waiting[0] <- grant{err: err}
		p.waiting = p.waiting[1:]
	} else if ctx.Err() == nil {
		p.failures++
		p.failed = time.Now()
		s.log.Warn("no session for the pool", "error", err)
	}
	p.mu.Unlock()
	if err == nil {
		p.offer(session)
	}
	p.wake()
}

// preload lets one idle session import its next library while the machine has
// nothing better to do, and says when to look again. A busy pool so never pays
// for what the next program may not use.
func (p *pool) preload(ctx context.Context, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.preloads > 0 || p.starting > 0 || len(p.waiting) > 0 {
		return poolTick
	}
	var next *Session
	for _, session := range p.ready {
		if session.step < len(p.sandbox.options.Preload) && (next == nil || session.step < next.step) {
			next = session
		}
	}
	if next == nil {
		return poolTick
	}
	if idle := now.Sub(p.leased); idle < settled {
		return settled - idle
	}
	if int(p.sandbox.running.Load()) >= max(1, p.sandbox.info.NCPU) {
		return settled
	}
	module, last := p.sandbox.options.Preload[next.step], next.step == len(p.sandbox.options.Preload)-1
	next.step++
	ctx, next.quiet = context.WithCancel(ctx)
	p.preloads++
	p.sandbox.tasks.Go(func() { p.preloadOne(ctx, next, module, last) })
	return poolTick
}

func (p *pool) preloadOne(ctx context.Context, session *Session, module string, last bool) {
	err := session.warm(ctx, module, last)
	p.mu.Lock()
	p.preloads--
	given := ctx.Err() != nil // it was leased meanwhile, and is no longer ours
	if !given {
		session.quiet()
		session.quiet = nil
	}
	p.mu.Unlock()
	if err != nil && !given {
		p.lost(session)
	}
	p.wake()
}

// warm lets the guest import one module and waits for it. After the last one
// the guest makes ready for a program.
func (s *Session) warm(ctx context.Context, module string, last bool) error {
	release, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	// The frame is small and the guest idle: it is written whole, so that a
	// lease that comes meanwhile finds the stream in order.
	writing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), 10*time.Second, errStalled)
	defer cancel()
	if err := s.wire.send(writing, frameWarm, map[string]any{"module": module, "last": last}, nil); err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(ctx, time.Minute, errStalled)
	defer stop()
	_, err = s.wire.next(ctx)
	return err
}
