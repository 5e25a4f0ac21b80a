package boltstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/sandpiper-bot/sandpiper/bot"
	"github.com/sandpiper-bot/sandpiper/bot/boltstore"
	"github.com/sandpiper-bot/sandpiper/bot/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStoreConforms(t *testing.T) {
	storetest.Store(t, func(dir string) (storetest.Opened, error) {
		s, err := boltstore.Open(boltstore.Options{Dir: dir})
		if err != nil {
			return storetest.Opened{}, err
		}
		return storetest.Opened{Store: s, Close: s.Close}, nil
	})
}

func TestBlobsConform(t *testing.T) {
	storetest.Blobs(t, func(dir string, clock bot.Clock) (bot.Blobs, func() error, error) {
		b, err := boltstore.OpenBlobs(boltstore.Options{Dir: dir, Clock: clock})
		if err != nil {
			return nil, nil, err
		}
		return b, b.Close, nil
	})
}
