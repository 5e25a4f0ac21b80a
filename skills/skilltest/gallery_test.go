package skilltest_test

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sandpiper-bot/sandpiper/sandbox"
	"github.com/sandpiper-bot/sandpiper/sandbox/sandboxtest"
	"github.com/sandpiper-bot/sandpiper/skills/skilltest"
)

var galleryDir = flag.String("gallery", "", "folder to write the gallery's pictures to")

func TestGalleryOfDifficultChartsHasNoFaults(t *testing.T) {
	made := sandboxtest.New(t, sandbox.Options{})
	session, err := made.Lease(t.Context(), sandbox.LeaseOptions{Task: "gallery"})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	gallery, err := skilltest.DrawGallery(t.Context(), session)
	require.NoError(t, err)

	require.GreaterOrEqual(t, len(gallery.Charts), 12)
	for _, chart := range gallery.Charts {
		require.Empty(t, chart.Faults, chart.Name)
		require.GreaterOrEqual(t, chart.Width, 1000, chart.Name)
		require.GreaterOrEqual(t, chart.Height, 300, chart.Name)
	}
	require.Contains(t, strings.Join(gallery.Control, "\n"), "overlap", "the judge must find what is wrong in a bad chart")
	require.Contains(t, strings.Join(gallery.Control, "\n"), "cut")
	require.Empty(t, gallery.Warnings, "every character has a font")

	for chart, texts := range map[string][]string{
		"long_labels":        {"Price $5 to $10 and _under_ ^over^", "182,401"},
		"forty_categories":   {"Other (25)"},
		"five_years_of_days": {"2021", "2025", "Online", "Shops"},
		"negative_and_huge":  {"trillion JPY", "4.2\u00a0trillion", "\u22121.9\u00a0trillion"},
		"one_point":          {"5\u00a0Mar\n2026", "Temperature, °C"},
		"no_values":          {"No values to show"},
		"cyrillic":           {"Ёлкино", "870\u00a0000", "Выручка, млн ₽"},
		"cjk_and_emoji":      {"東京都千代田区", "서울특별시 강남구", "🚀 Rockets"},
		"many_lines":         {"5 more in grey"},
		"negative_stack":     {"сен\n2025", "Возвраты"},
		"minutes":            {"95th percentile, ms"},
	} {
		at := slices.IndexFunc(gallery.Charts, func(p skilltest.Picture) bool { return p.Name == chart })
		require.GreaterOrEqual(t, at, 0, chart)
		for _, text := range texts {
			require.Contains(t, gallery.Charts[at].Texts, text, chart)
		}
	}

	if *galleryDir == "" {
		return
	}
	require.NoError(t, os.MkdirAll(*galleryDir, 0o755))
	root, err := os.OpenRoot(*galleryDir)
	require.NoError(t, err)
	defer root.Close()
	_, err = session.Collect(t.Context(), sandbox.CollectOptions{Store: func(name string, _ int64, content io.Reader) error {
		f, err := root.Create(filepath.Base(name))
		if err != nil {
			return err
		}
		if _, err := io.Copy(f, content); err != nil {
			return err
		}
		return f.Close()
	}})
	require.NoError(t, err)
	t.Logf("written to %s", *galleryDir)
}
