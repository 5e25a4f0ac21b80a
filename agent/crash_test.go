package agent_test

// lifeVariable tells a re-executed test binary to be one life of a bot.
const lifeVariable = "SANDPIPER_TEST_LIFE"

func life() int { return 0 }
