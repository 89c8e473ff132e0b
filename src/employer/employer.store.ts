import { Database, EmployerTransaction } from '../database/database';
import { notFound } from '../http/prefixed-id';
import { SignedIn } from '../http/signed-in';
import { Employer } from './employer.entity';

/** The transaction's employer. @throws Problem 404 when there is none, which only an administrator can meet. */
export async function findEmployer(tx: EmployerTransaction): Promise<Employer> {
  const employer = await tx.manager.findOneBy(Employer, { id: tx.employerId });
  if (employer === null) throw notFound('emp');
  return employer;
}

/**
 * The transaction's employer, locked: who switches or sets it takes turns, and waits for nobody who only refers to it, as an
 * upload does until it is stored. @throws Problem 404
 */
export async function lockEmployer(tx: EmployerTransaction): Promise<Employer> {
  const employer = await tx.manager.findOne(Employer, {
    where: { id: tx.employerId },
    lock: { mode: 'for_no_key_update' },
  });
  if (employer === null) throw notFound('emp');
  return employer;
}

/**
 * Employers a person may see, by id: all for an administrator, otherwise those of a role. Each is read as itself,
 * because row-level security shows one employer at a time.
 */
export async function employersSeenBy(
  database: Database,
  me: SignedIn,
  after: string,
  limit: number,
): Promise<Employer[]> {
  const ids = me.administrator ? await everyEmployer(database, after, limit) : [...me.rolesAt.keys()];
  const page = ids
    .filter((id) => id > after)
    .sort()
    .slice(0, limit);
  const employers: Employer[] = [];
  for (const id of page) employers.push(await database.inEmployer(id, findEmployer));
  return employers;
}

async function everyEmployer(database: Database, after: string, limit: number): Promise<string[]> {
  const rows = await database.asWorker((tx) =>
    tx.query<{ id: string }>('SELECT id FROM employer WHERE id > $1 ORDER BY id LIMIT $2', [after, limit]),
  );
  return rows.map(({ id }) => id);
}
