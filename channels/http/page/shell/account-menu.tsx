/** The foot of the sidebar: one menu for what belongs to the person and this browser, not to a chat. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../api.ts';
import { chooseLanguage, type LanguageChoice, languageName, readLanguage } from '../language.ts';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { chooseTheme, keptTheme, THEMES } from '../person/shown-theme.ts';
import { say } from '../texts.ts';
import { showKeys } from './keys.tsx';

/** The gateway's version, which only an admin learns. */
export const version = signal<string | undefined>(undefined);

interface AccountProps {
  api: Api;
  showError: (error: unknown) => void;
  signOut: () => void;
  showArchived: () => void;
}

/** The account menu. */
export function AccountMenu({ api, showError, signOut, showArchived }: AccountProps): JSX.Element {
  const openMemories = async (): Promise<void> =>
    (await import('../person/own-memories.tsx')).showMemories(api);
  const openNotifications = async (): Promise<void> =>
    (await import('../notifications/notifications.tsx')).showNotifications(api);
  return (
    <Menu id="account" class="account" icon="user" label={say('page.account')}>
      <LanguagePicker api={api} showError={showError} />
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
      <MenuItem id="open-memory" icon="memory" onClick={() => void openMemories().catch(showError)}>
        {say('page.memory')}
      </MenuItem>
      <MenuItem id="open-notifications" icon="bell" onClick={() => void openNotifications().catch(showError)}>
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

function LanguagePicker({ api, showError }: Pick<AccountProps, 'api' | 'showError'>): JSX.Element {
  const [choice, setChoice] = useState<LanguageChoice>();
  useEffect(() => void readLanguage(api).then(setChoice, showError), [api]);
  return (
    <label class="menu-field">
      {say('page.language')}
      <select
        id="language"
        value={choice?.chosen ? choice.language : 'auto'}
        onChange={({ currentTarget: { value } }) => void chooseLanguage(api, value).catch(showError)}
      >
        {['auto', ...(choice?.languages ?? [])].map((code) => (
          <option value={code}>{code === 'auto' ? say('page.language.auto') : languageName(code)}</option>
        ))}
      </select>
    </label>
  );
}
