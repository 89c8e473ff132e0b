import { Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { ClockWatch } from '../../src/database/clock-watch';
import { Database } from '../../src/database/database';
import { dataSourceOptions, openDataSource } from '../../src/database/data-source';
import { TestDatabase, testDatabase } from '../support/database';

describe("a replica's clock", () => {
  let server: TestDatabase;
  let source: DataSource;
  let watch: ClockWatch;
  beforeAll(async () => {
    server = await testDatabase();
    source = await openDataSource(dataSourceOptions(server.url, [], 2));
    watch = new ClockWatch(new Database(source));
  });
  afterAll(async () => {
    await source.destroy();
    await server.drop();
  });
  afterEach(() => jest.restoreAllMocks());

  it("is told of once when it is not the database's, and once when it is again", async () => {
    const real = Date.now;
    const errors = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const told = jest.spyOn(Logger.prototype, 'log').mockImplementation();
    expect(await watch.check()).toBe(true);
    const off = jest.spyOn(Date, 'now').mockImplementation(() => real() + 3_600_000);
    expect([await watch.check(), await watch.check()]).toEqual([false, false]);
    expect(Math.round(watch.aheadMs / 60_000)).toBe(60);
    expect(errors.mock.calls).toEqual([[expect.objectContaining({ aheadSeconds: 3_600 })]]);
    off.mockRestore();
    expect([await watch.check(), await watch.check()]).toEqual([true, true]);
    expect(told).toHaveBeenCalledTimes(1);
  });
});
