// Package web serves the pages: tasks, their story, and a composer to ask with.
package web
