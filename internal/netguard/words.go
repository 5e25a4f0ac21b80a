package netguard

import (
	"errors"
	"net/url"
	"strings"
)

// Refusal is the guard's own sentence inside err, for whoever sent the link.
func Refusal(err error) string {
	if e, ok := errors.AsType[*HostError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[*AddressError](err); ok {
		return e.Error()
	}
	return "it is refused"
}

// Bare is a link without its query, which may hold a signature.
func Bare(link string) string {
	bare, _, _ := strings.Cut(link, "?")
	return bare
}

// BareError keeps signatures out of an exchange's error, and so out of logs.
func BareError(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return &url.Error{Op: e.Op, URL: Bare(e.URL), Err: e.Err}
	}
	return err
}
