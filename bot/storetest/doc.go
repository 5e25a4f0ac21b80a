// Package storetest states what a bot.Store and bot.Blobs promise, as tests that
// every implementation runs:
//
//	func TestStore(t *testing.T) { storetest.Store(t, open) }
//	func TestBlobs(t *testing.T) { storetest.Blobs(t, openBlobs) }
//
// What a model of a few maps says and what the store does are compared over
// random histories, with closing and opening in between: TestStore shrinks a
// failure to the shortest history that shows it.
package storetest
