/** Every command, in several forms, right and wrong ones. */

/** In this order: some need what those before them did. */
export const COMMANDS = [
  '/start | /help | /status | /language | /language xx | /stop | /model | /model odd',
  '/model nowhere/odd | /model openai/odd | /model plain | /model default | /profile | /profile odd',
  '/profile chat | /profile default | /mode | /mode odd | /mode planner | /queue | /queue odd',
  '/queue collect | /queue queue | /title | /title x | /usage | /why | /memory | /memory odd',
  '/forget | /forget 9 | /verify | /verify 9 | /trust | /observe | /observe on | /approve',
  '/approve odd | /deny | /rules | /rules odd | /rules remove 9 | /rules remove all | /plan | /plans',
  '/plan run 9 | /plan show 9 | /plan cancel 9 | /plan edit | /run | /skip | /pause | /resume | /link',
  '/link odd | /surfaces | /unlink | /voice | /voice odd | /stream | /stream odd | /stream draft | /rich',
  '/rich odd | /rich off | /rich on',
  '/schedule | /schedule add "odd" x | /schedule add "in 1 hour" x | /schedule | /schedule remove 9',
  '/schedule odd | /prompt | /prompt odd odd | /retry | /undo | /new',
].flatMap((commands) => commands.split(' | '));
