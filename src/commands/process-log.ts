/** The log of a gateway's process: standard output, in words on a terminal and as JSON elsewhere, and the file in the home. */
import { type Config, secretsOf } from '../config.ts';
import type { Log } from '../protocol/log.ts';
import { appendToLogFile, logFileOf } from '../ops/log-file.ts';
import { createLogText } from '../ops/log-text.ts';
import { createLog, redactor, type Redactor } from '../ops/log.ts';

/** Makes it. A file that cannot be written is reported on standard output. Never throws. */
export function openProcessLog(config: Config): { log: Log; redact: Redactor } {
  const redact = redactor(secretsOf(config));
  const { level, show } = { level: config.env.LOG_LEVEL, show: screen() };
  const file = logFileOf(config.home);
  const onScreen = createLog({ level, redact, write: show });
  const append = appendToLogFile(file, {
    onFailure: (error) => onScreen.warn({ err: error, file }, 'log_file_not_written'),
  });
  const write = (line: string): void => {
    show(line);
    append(line);
  };
  return { log: createLog({ level, redact, write }), redact };
}

function screen(): (line: string) => void {
  const { stdout } = process;
  if (!stdout.isTTY) return (line) => void stdout.write(line);
  const text = createLogText({ colours: stdout.hasColors() });
  return (line) => void stdout.write(text(line));
}
