// Package web serves the pages: the list of tasks, each task's story, its
// files, schedules and skills, and a composer to ask with. It is an adapter
// like any other: what is asked here goes through bot.Intake, and answers are
// read from the core, so that it owes nobody a delivery of its own.
//
// Everything a task holds is hostile: it is shown as text by html/template,
// Markdown is rendered without raw HTML, pictures or foreign links, and files
// are handed out as downloads under a policy that runs nothing. The pages work
// without JavaScript; with it they are live.
package web
