// Package saved turns a finished task into a runnable skill: its program log
// joined into one script, the shape of its inputs, and its answer as a template
// of figures that later runs fill in from what the programs print then.
//
// Making a report is pure; whether it may be trusted is found out by running
// it again, fresh and on perturbed inputs: see Perturb and Compare.
package saved
