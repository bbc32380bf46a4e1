/** What people belong to on their platform, if access can be granted to that. */

/** A guild that a person belongs to, or a role that they have there; the id is the platform's. */
export interface Membership {
  kind: 'guild' | 'role';
  id: string;
}
