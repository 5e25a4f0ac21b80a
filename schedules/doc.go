// Package schedules holds schedule definitions and the clock that fires them.
package schedules
