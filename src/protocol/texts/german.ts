/** The texts in German. */
import type { ENGLISH } from './english.ts';
import { about } from './german/about.ts';
import { access } from './german/access.ts';
import { approvals } from './german/approvals.ts';
import { channelHealth } from './german/channel-health.ts';
import { channels } from './german/channels.ts';
import { commands } from './german/commands.ts';
import { delivery } from './german/delivery.ts';
import { failures } from './german/failures.ts';
import { fileProblems } from './german/file-problems.ts';
import { files } from './german/files.ts';
import { pageFrame } from './german/page/frame.ts';
import { pageChats } from './german/page/chats.ts';
import { pageTurns } from './german/page/turns.ts';
import { pageChat } from './german/page/chat.ts';
import { pagePlans } from './german/page/plans.ts';
import { pageErrors } from './german/page/errors.ts';
import { pageSettings } from './german/page/settings.ts';
import { providers } from './german/providers.ts';
import { plans } from './german/plans.ts';
import { settings } from './german/settings.ts';
import { surfaces } from './german/surfaces.ts';
import { trace } from './german/trace.ts';
import { turns } from './german/turns.ts';
import { why } from './german/why.ts';
import type { TranslationOf } from './template.ts';

export const GERMAN: TranslationOf<typeof ENGLISH> = {
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
};
