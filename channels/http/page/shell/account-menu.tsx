/** The foot of the sidebar: one menu for what belongs to the person and this browser, not to a chat. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { forgetDecisions } from '../chat/approvals/own-decisions.ts';
import { forgetDrafts } from '../chat/composer/drafts.ts';
import { forgetCommandAnswers } from '../commands/command-answers.ts';
import { removeToken } from '../credentials.ts';
import { run, showError } from '../failures/show-error.ts';
import { chooseLanguage, type LanguageChoice, languageName, readLanguage } from '../language.ts';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { chooseTheme, keptTheme, THEMES } from '../person/shown-theme.ts';
import { say } from '../texts.ts';
import { showKeys } from './keys.tsx';

/** The gateway's version, which only an admin learns. */
export const version = signal<string | undefined>(undefined);

/** Whoever uses this browser next is not notified of these chats. */
async function endNotifications(): Promise<void> {
  const registration = await navigator.serviceWorker?.getRegistration();
  await (await registration?.pushManager?.getSubscription())?.unsubscribe();
}

function signOut(): void {
  removeToken();
  forgetDrafts();
  forgetCommandAnswers();
  forgetDecisions();
  history.replaceState(null, '', '/');
  void endNotifications()
    .catch(showError)
    .finally(() => location.reload());
}

/** The account menu. */
export function AccountMenu({ showArchived }: { showArchived: () => void }): JSX.Element {
  const openMemories = async (): Promise<void> => (await import('../person/own-memories.tsx')).showMemories();
  const openNotifications = async (): Promise<void> =>
    (await import('../notifications/notifications.tsx')).showNotifications();
  return (
    <Menu id="account" class="account" icon="user" label={say('page.account')}>
      <LanguagePicker />
      <label class="menu-field">
        {say('page.theme')}
        <select
          id="theme"
          value={keptTheme()}
          onChange={({ currentTarget: { value } }) =>
            chooseTheme(THEMES.find((theme) => theme === value) ?? 'system')
          }
        >
          {THEMES.map((theme) => (
            <option value={theme}>{say(`page.theme.${theme}`)}</option>
          ))}
        </select>
      </label>
      <hr />
      <MenuItem id="show-keys" icon="keyboard" onClick={showKeys}>
        {say('page.keys')}
      </MenuItem>
      <MenuItem id="archived" icon="archive" onClick={showArchived}>
        {say('page.chats.archived')}
      </MenuItem>
      <MenuItem id="open-memory" icon="memory" onClick={() => run(openMemories())}>
        {say('page.memory')}
      </MenuItem>
      <MenuItem id="open-notifications" icon="bell" onClick={() => run(openNotifications())}>
        {say('page.push')}
      </MenuItem>
      <MenuItem id="open-settings" icon="settings" href="#settings" hidden={version.value === undefined}>
        {say('page.settings')}
      </MenuItem>
      <MenuItem id="sign-out" icon="signOut" onClick={signOut}>
        {say('page.sign_out')}
      </MenuItem>
      <p id="version" class="quiet menu-note" hidden={version.value === undefined}>
        Parley {version}
      </p>
    </Menu>
  );
}

function LanguagePicker(): JSX.Element {
  const [choice, setChoice] = useState<LanguageChoice>();
  useEffect(() => void readLanguage().then(setChoice, showError), []);
  return (
    <label class="menu-field">
      {say('page.language')}
      <select
        id="language"
        value={choice?.chosen ? choice.language : 'auto'}
        onChange={({ currentTarget: { value } }) => run(chooseLanguage(value))}
      >
        {['auto', ...(choice?.languages ?? [])].map((code) => (
          <option value={code}>{code === 'auto' ? say('page.language.auto') : languageName(code)}</option>
        ))}
      </select>
    </label>
  );
}
