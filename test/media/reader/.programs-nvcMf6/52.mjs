setInterval(() => {}, 1000);
process.stdin.resume();
