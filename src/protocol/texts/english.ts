/** The texts in English, which every other language falls back to. */
import { about, commands, settings } from './english/commands.ts';
import { access, approvals, channelHealth, channels, surfaces } from './english/access.ts';
import { budgets } from './english/budgets.ts';
import { delivery } from './english/delivery.ts';
import { plans, turns } from './english/turns.ts';
import { failures, fileProblems, files, outcomes, providers, trace } from './english/providers.ts';
import { pageChat, pageChats, pageErrors, pageFrame, pagePlans } from './english/page.ts';
import { notifications, pageAsks, pageMarkdown } from './english/page-answers.ts';
import { pageSettings, pageTurns } from './english/page-settings.ts';
import { replays } from './english/replays.ts';
import { undo } from './english/undo.ts';
import { settingNames } from './english/setting-names.ts';

export const ENGLISH = {
  ...about,
  ...access,
  ...approvals,
  ...budgets,
  ...channels,
  ...channelHealth,
  ...commands,
  ...delivery,
  ...failures,
  ...fileProblems,
  ...files,
  ...pageAsks,
  ...pageFrame,
  ...pageChats,
  ...pageTurns,
  ...notifications,
  ...pageMarkdown,
  ...pageChat,
  ...pagePlans,
  ...pageErrors,
  ...pageSettings,
  ...plans,
  ...providers,
  ...replays,
  ...settings,
  ...undo,
  ...settingNames,
  ...surfaces,
  ...trace,
  ...turns,
  ...outcomes,
} as const;
