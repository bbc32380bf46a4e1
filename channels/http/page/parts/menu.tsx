/** The one menu of the page: a button and what it opens above everything else, which the browser closes and places. */
import type { ComponentChildren, JSX } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface MenuProps {
  /** Of the opened part. */
  id: string;
  /** What the button is called; also what it shows, beside an icon or without one. */
  label: string;
  /** What the button is for, where its label is a value. */
  about?: string;
  icon?: IconName;
  /** The button shows its icon only. */
  bare?: boolean;
  class?: string;
  hidden?: boolean;
  children: ComponentChildren;
}

/** A button with a menu. */
export function Menu({
  id,
  label,
  about,
  icon,
  bare = false,
  class: kind = '',
  hidden,
  children,
}: MenuProps): JSX.Element {
  return (
    <div class={`menu ${kind}`} hidden={hidden}>
      <button
        type="button"
        class={bare ? 'icon-button' : 'menu-opener'}
        popovertarget={id}
        aria-label={bare ? label : about && `${about}: ${label}`}
        title={bare ? label : about}
      >
        {icon && <Icon name={icon} />}
        {!bare && <span class="menu-label">{label}</span>}
      </button>
      <div id={id} class="menu-panel" popover="auto">
        {children}
      </div>
    </div>
  );
}

interface MenuItemProps {
  id?: string;
  icon?: IconName;
  /** A link instead of a button. */
  href?: string;
  /** What it is called, where its text alone is not clear. */
  label?: string;
  danger?: boolean;
  hidden?: boolean;
  onClick?: () => void;
  children: ComponentChildren;
}

/** What a menu offers; the menu closes when it is chosen. */
export function MenuItem({
  id,
  icon,
  href,
  label,
  danger,
  hidden,
  onClick,
  children,
}: MenuItemProps): JSX.Element {
  const choose = ({ currentTarget }: Event): void => {
    if (currentTarget instanceof Element) currentTarget.closest<HTMLElement>('[popover]')?.hidePopover();
    onClick?.();
  };
  const props = {
    id,
    hidden,
    'aria-label': label,
    class: `menu-item${danger ? ' danger-text' : ''}`,
    onClick: choose,
  };
  const content = (
    <>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </>
  );
  return href === undefined ? (
    <button type="button" {...props}>
      {content}
    </button>
  ) : (
    <a href={href} {...props}>
      {content}
    </a>
  );
}
