/** The texts in English, which every other language falls back to. */
import { about } from './english/about.ts';
import { access } from './english/access.ts';
import { approvals } from './english/approvals.ts';
import { channelHealth } from './english/channel-health.ts';
import { channels } from './english/channels.ts';
import { commands } from './english/commands.ts';
import { delivery } from './english/delivery.ts';
import { failures } from './english/failures.ts';
import { fileProblems } from './english/file-problems.ts';
import { files } from './english/files.ts';
import { pageFrame } from './english/page/frame.ts';
import { pageChats } from './english/page/chats.ts';
import { pageTurns } from './english/page/turns.ts';
import { pageChat } from './english/page/chat.ts';
import { pagePlans } from './english/page/plans.ts';
import { pageErrors } from './english/page/errors.ts';
import { pageSettings } from './english/page/settings.ts';
import { providers } from './english/providers.ts';
import { plans } from './english/plans.ts';
import { settings } from './english/settings.ts';
import { surfaces } from './english/surfaces.ts';
import { trace } from './english/trace.ts';
import { turns } from './english/turns.ts';
import { why } from './english/why.ts';

export const ENGLISH = {
  ...about,
  ...access,
  ...approvals,
  ...channels,
  ...channelHealth,
  ...commands,
  ...delivery,
  ...failures,
  ...fileProblems,
  ...files,
  ...pageFrame,
  ...pageChats,
  ...pageTurns,
  ...pageChat,
  ...pagePlans,
  ...pageErrors,
  ...pageSettings,
  ...plans,
  ...providers,
  ...settings,
  ...surfaces,
  ...trace,
  ...turns,
  ...why,
} as const;
