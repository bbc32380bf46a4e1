/**
 * What the scripts that are loaded later take from the first one, instead of bringing it along. The build reads the
 * imports of this file (`page-build.ts`), and fails where a later script needs another name of a package; a later script
 * belongs to the first one that names the hash of its bytes.
 */
import { signal } from '@preact/signals';
import { createContext, render } from 'preact';
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Fragment, jsx, jsxs } from 'preact/jsx-runtime';
import * as api from './api.ts';
import * as files from './chat/files.tsx';
import * as inbox from './chats/inbox.tsx';
import * as linkedChats from './chat/linked-chats.tsx';
import * as markdown from './markdown/markdown.tsx';
import * as plainText from './markdown/plain-text.ts';
import * as confirm from './confirm.tsx';
import * as inPlace from './failures/in-place.ts';
import * as showError from './failures/show-error.ts';
import * as copy from './parts/copy.tsx';
import * as dialog from './parts/dialog.tsx';
import * as icon from './parts/icon.tsx';
import * as laterParts from './parts/later.tsx';
import * as time from './parts/time.tsx';
import * as withCode from './parts/with-code.tsx';
import * as requests from './requests.ts';
import * as shownTheme from './person/shown-theme.ts';
import * as texts from './texts.ts';

Reflect.set(globalThis, 'parleyShared', {
  '@preact/signals': { signal },
  preact: { createContext, render },
  'preact/hooks': { useContext, useEffect, useId, useLayoutEffect, useRef, useState },
  'preact/jsx-runtime': { Fragment, jsx, jsxs },
  './api.ts': api,
  './chat/files.tsx': files,
  './chats/inbox.tsx': inbox,
  './chat/linked-chats.tsx': linkedChats,
  './markdown/markdown.tsx': markdown,
  './markdown/plain-text.ts': plainText,
  './confirm.tsx': confirm,
  './failures/in-place.ts': inPlace,
  './failures/show-error.ts': showError,
  './parts/copy.tsx': copy,
  './parts/dialog.tsx': dialog,
  './parts/icon.tsx': icon,
  './parts/later.tsx': laterParts,
  './parts/time.tsx': time,
  './parts/with-code.tsx': withCode,
  './requests.ts': requests,
  './person/shown-theme.ts': shownTheme,
  './texts.ts': texts,
});
