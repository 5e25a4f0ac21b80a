// Package schedules holds schedule definitions, the words people use for them,
// and the clock that fires them.
//
// A Line is a five-field cron line in a time zone. Its times are wall-clock
// times: a time that daylight saving skips runs once at the next valid minute,
// one that it repeats runs once, at its first occurrence. Only a line whose
// hour field is a plain "*" follows elapsed time, so that "every 15 minutes"
// stays every 15 minutes through the change.
//
// Next and last runs are kept in bot.Records and never in memory alone; each
// due time is decided once, by a record written with compare-and-swap, so that
// two processes, a restart or a jumping clock cannot fire it twice.
package schedules
