package github

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"sync"

	"github.com/golang-jwt/jwt/v4"
)

// errNoKey says that what was given as the App's key is none.
var errNoKey = errors.New("no PEM private key")

// appSigner signs as the App with the key of the moment: its file is read
// again on SIGHUP.
type appSigner struct {
	key func() string

	mu   sync.Mutex // guards what follows
	text string
	made *rsa.PrivateKey
}

// Sign implements ghinstallation.Signer.
func (s *appSigner) Sign(claims jwt.Claims) (string, error) {
	key, err := s.parsed()
	if err != nil {
		return "", err
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("sign as the App: %w", err)
	}
	return signed, nil
}

// parsed is the key, parsed once for each text.
func (s *appSigner) parsed() (*rsa.PrivateKey, error) {
	text := s.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != nil && s.text == text {
		return s.made, nil
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(text))
	if err != nil {
		return nil, &IdentityError{
			Problem: "GITHUB_APP_PRIVATE_KEY is no PEM private key",
			Hint:    "give the whole file that GitHub gave for the App, with its BEGIN and END lines",
			Err:     errNoKey, // not what the parser says: it may quote the key
		}
	}
	s.text, s.made = text, key
	return key, nil
}
