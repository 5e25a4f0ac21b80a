// Package agent plans and acts: it runs a task with a model and tools, or with
// a runnable skill alone, journaling every step before it acts on it.
package agent
