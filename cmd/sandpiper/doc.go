// Command sandpiper is the bot: see README.md for what it does.
package main
