/**
 * The process that reads one file: the file arrives on standard input, the answer goes to standard output. It has no
 * environment, may not write or start anything, and is ended when it takes too long: whatever a file does to the
 * programs that read it stays in here.
 */
import { buffer } from 'node:stream/consumers';
import { readContent } from './content.ts';

const { image, ...answer } = await readContent(await buffer(process.stdin));
process.stdout.write(`${JSON.stringify(answer)}\n`);
if (image !== undefined) process.stdout.write(image);
