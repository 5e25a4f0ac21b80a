package sandbox_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
)

// proxy stands between the sandbox and the engine's socket, as a network does.
type proxy struct {
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns map[net.Conn]bool
}

func newProxy(t *testing.T, listener net.Listener) *proxy {
	t.Helper()
	p := &proxy{listener: listener, conns: map[net.Conn]bool{}}
	p.work.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.work.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		p.cut()
		p.work.Wait()
	})
	return p
}

func (p *proxy) serve(from net.Conn) {
	to, err := net.Dial("unix", socketPath())
	if err != nil {
		from.Close()
		return
	}
	p.mu.Lock()
	p.conns[from], p.conns[to] = true, true
	p.mu.Unlock()
	var both sync.WaitGroup
	pipe := func(to, from net.Conn) {
		io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
	}
	both.Go(func() { pipe(to, from) })
	both.Go(func() { pipe(from, to) })
	both.Wait()
	from.Close()
	to.Close()
	p.mu.Lock()
	delete(p.conns, from)
	delete(p.conns, to)
	p.mu.Unlock()
}

// cut breaks every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}

func socketPath() string {
	if path, found := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); found {
		return path
	}
	return "/var/run/docker.sock"
}

// needsSocket skips where the engine is not behind a local socket.
func needsSocket(t *testing.T) {
	t.Helper()
	sandboxtest.Engine(t)
	if _, err := os.Stat(socketPath()); err != nil {
		t.Skipf("skipped: the engine is remote already: %v", err)
	}
}

// roundTrip puts a file in, works on it and takes a file out.
func roundTrip(t *testing.T, box *sandbox.Sandbox) {
	t.Helper()
	session := lease(t, box)
	content := strings.Repeat("line of a file\n", 50000)
	put(t, session, "workspace/in/big.txt", content)
	if got := run(t, session, sandbox.Python, "text = open('in/big.txt').read()\nopen('out/back.txt', 'w').write(text)\nprint(len(text))"); got.Stdout.Head != "750000\n" {
		t.Fatalf("%s: %q %q", got.Verdict, got.Stdout.Head, got.Stderr.Head)
	}
	if got := run(t, session, sandbox.Bash, "cat in/big.txt > out/other.txt; echo . >> out/other.txt"); got.Verdict != sandbox.OK {
		t.Fatalf("%s: %q", got.Verdict, got.Stderr.Head)
	}
	files, found := collect(t, session)
	if files["other.txt"] != content+".\n" || len(found.Skipped) != 1 {
		t.Errorf("came back: %v, skipped %v", found.Files, found.Skipped)
	}
}

// TestOverTCP shows that nothing of a session needs a shared file system.
func TestOverTCP(t *testing.T) {
	needsSocket(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	newProxy(t, listener)
	roundTrip(t, sandboxtest.New(t, sandbox.Options{Engine: "tcp://" + listener.Addr().String(), Limits: smallLimits(), Preload: []string{}}))
}

// TestOverTLS uses Docker's own variables, with a certificate on both sides.
func TestOverTLS(t *testing.T) {
	needsSocket(t)
	folder := t.TempDir()
	config := certificates(t, folder)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	newProxy(t, listener)
	image := sandboxtest.Engine(t).Image
	t.Setenv("DOCKER_HOST", "tcp://"+listener.Addr().String())
	t.Setenv("DOCKER_TLS_VERIFY", "1")
	t.Setenv("DOCKER_CERT_PATH", folder)
	box, err := sandbox.New(t.Context(), sandbox.Options{Owner: sandboxtest.Owner(t), Image: image, Limits: smallLimits(), Preload: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	roundTrip(t, box)
}

// TestOverSSH runs docker/cli's helper with a stand-in for ssh that runs the
// remote command here.
func TestOverSSH(t *testing.T) {
	needsSocket(t)
	image := sandboxtest.Engine(t).Image
	folder := t.TempDir()
	script := "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nunset DOCKER_HOST\nexec sh -c \"$*\"\n"
	if err := os.WriteFile(filepath.Join(folder, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	box, err := sandbox.New(t.Context(), sandbox.Options{
		Owner: sandboxtest.Owner(t), Engine: "ssh://someone@engine.example", Image: image, Limits: smallLimits(), Preload: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	roundTrip(t, box)
}

// TestStreamLost cuts the network while a program runs: the verdict is
// engine's, and the container ends by itself.
func TestStreamLost(t *testing.T) {
	needsSocket(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	between := newProxy(t, listener)
	owner := sandboxtest.Owner(t)
	box := sandboxtest.New(t, sandbox.Options{Owner: owner, Engine: "tcp://" + listener.Addr().String(), Limits: smallLimits(), Preload: []string{}})
	session := lease(t, box)
	got, err := session.Run(t.Context(), sandbox.Program{
		Language: sandbox.Python, Code: "print('on')\nimport time\nwhile True: time.sleep(1)",
		Output: func(string, []byte) { between.cut() },
	})
	if err != nil || got.Verdict != sandbox.Engine || got.Stdout.Head != "on\n" {
		t.Fatalf("verdict %s, output %q, %v: %s", got.Verdict, got.Stdout.Head, err, got.Detail)
	}
	eventually(t, "the container ends by itself", func() bool { return len(containers(t, owner, "status=running")) == 0 })
	roundTrip(t, box) // the next session is as good as any
}

// certificates writes ca.pem, cert.pem and key.pem for the client, and gives
// the server's side.
func certificates(t *testing.T, folder string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
	for name, content := range map[string][]byte{"ca.pem": certPEM, "cert.pem": certPEM, "key.pem": keyPEM} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}
}
