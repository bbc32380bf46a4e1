/** Components that are drawn again only when they are given something else. */
import { Component, type ComponentType, h, type JSX } from 'preact';

/** The component, drawn again only when one of its props is another value, or a signal that it reads has changed. */
export function memo<Props extends object>(draw: (props: Props) => JSX.Element | null): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      return Object.entries(next).some(([name, value]) => Reflect.get(this.props, name) !== value);
    }

    override render(): JSX.Element {
      return h(draw, this.props);
    }
  };
}
