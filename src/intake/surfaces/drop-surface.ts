/** A chat that the bot can no longer write to leaves the conversation that it shares; the others continue. */
import type { Log } from '../../protocol/log.ts';
import type { DropSurface, SurfaceStore } from '../../protocol/sessions/surfaces.ts';
import { newId } from '../../lib/ids.ts';
import { sayTo, tell, type TellDeps } from './tell.ts';
import { type LabelOf, whereOf } from './surface-text.ts';

export interface DropSurfaceDeps extends TellDeps {
  store: Pick<SurfaceStore, 'leave'>;
  labelOf: LabelOf;
  log: Log;
}

/** Makes `DropSurface`. */
export function createDropSurface(deps: DropSurfaceDeps): DropSurface {
  return async (address) => {
    const gone = await deps.store.leave(address);
    if (gone === undefined) return false;
    deps.log.info({ address, sessionKey: gone.session, why: 'blocked' }, 'surface_left');
    deps.events.emit(gone.session, { type: 'surfaces_changed' });
    const where = whereOf(gone.left, deps.labelOf);
    const ref = `surface-left:${newId()}`;
    for (const other of gone.others) {
      const say = await sayTo(deps, other);
      await tell(deps, other.address, { ref, content: say('unlink.unreachable', { where }) });
    }
    return true;
  };
}
