/** The command line. */
import { start } from './commands/start.ts';
import { visibleText } from './lib/text.ts';
import { toGatewayError } from './protocol/errors.ts';

/** Runs one command. Sets the exit code; never throws. */
export async function main(args: string[]): Promise<void> {
  try {
    // Nothing to check, so the other commands are not even loaded: a gateway is ready sooner.
    if (args.length === 1 && args[0] === 'start') return await start([]);
    const { runCommand } = await import('./commands/run-command.ts');
    await runCommand(args);
  } catch (error) {
    process.stderr.write(`${visibleText(toGatewayError(error).message)}\n`);
    process.exitCode = 1;
  }
}
