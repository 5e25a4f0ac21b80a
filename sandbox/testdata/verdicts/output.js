for (;;) require("fs").writeSync(1, "x".repeat(65536));
